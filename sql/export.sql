-- The training table as align.sql made it, label first, for any trainer. Needs no extension.
--
--   sqlite3 -header -csv rpc.db < sql/export.sql > training.csv

SELECT duration_sec, latency_ms, block_lag, rolling_latency_5, mean_lag_5, provider_mean_sec, hour_of_day, day_of_week,
       split, censored, propensity, provider_id, chain, region, timestamp, tx_id
  FROM training_set
 ORDER BY timestamp, tx_id;
