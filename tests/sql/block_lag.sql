SELECT 'blocks behind the head', block_lag(1000, 1003) = 3;
SELECT 'a node ahead of the head lags by nothing', block_lag(1004, 1003) = 0;
SELECT 'quantities count like integers', block_lag('0x3e8', '0x3eb') = 3;
SELECT 'leading zeros are forgiven', block_lag('0x00a1', 161) = 0;
SELECT 'NULL in, NULL out', block_lag(NULL, 1) IS NULL AND block_lag(1, NULL) IS NULL AND block_lag(1, 2, NULL) IS NULL;
SELECT 'an impossible height is not a lag of 0', block_lag(53000000, 23000001, 100) IS NULL;
SELECT 'within max_ahead it is 0', block_lag(23000101, 23000001, 100) = 0;
SELECT 'nothing is cut to 32 bits', block_lag(1, 4294967297) = 4294967296;
SELECT 'the greatest height does not overflow', block_lag(0, 9223372036854775807) = 9223372036854775807;
