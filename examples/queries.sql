-- Which provider is healthy now, and how far behind is each?
SELECT provider_id, state, round(latency_ms) AS latency_ms, lag_blocks, lag_sec, round(100 * success_share) AS answered_percent
  FROM provider_health ORDER BY state, lag_blocks, latency_ms;

-- Does ping tell who confirms first? Where the median confirmation and the median ping disagree, it does not.
SELECT provider_id, n, round(median_sec, 2) AS median_sec, round(p95_sec, 2) AS p95_sec, round(median_latency_ms) AS ping_ms,
       round(mean_lag, 2) AS mean_lag
  FROM provider_summary ORDER BY median_sec;

-- What would each routing policy have achieved, from randomised probes alone?
SELECT policy, matched, round(mean_sec, 2) AS mean_sec, round(ci_low, 2) AS ci_low, round(ci_high, 2) AS ci_high,
       round(100 * slow_share, 1) AS slow_percent
  FROM routing_value ORDER BY mean_sec;

-- Why was this provider chosen, and the others not?
SELECT d.timestamp, d.outcome, c.rank, c.provider_id, c.exclusion, round(c.predicted_sec, 2) AS predicted_sec,
       round(c.latency_ms, 1) AS latency_ms, c.block_lag
  FROM route_decisions d JOIN route_candidates c USING (decision_id)
 WHERE decision_id = (SELECT max(decision_id) FROM route_decisions) ORDER BY c.rank IS NULL, c.rank;
