-- Providers to begin with. Uncomment what you want to watch, add your own, and run:
--
--   sqlite3 rpc.db < sql/schema.sql && sqlite3 rpc.db < examples/providers.sql
--
-- Public endpoints are somebody's kindness: poll them no more often than their operators allow (every 30 s is the custom),
-- and expect them to change. A key never stands here: ${RPCROUTE_…} is filled in from the environment at the call.

-- Sepolia, the test network: what probe transactions are for.
-- INSERT OR IGNORE INTO rpc_providers (provider_id, chain, url, ws_url, operator) VALUES
--   ('publicnode', 'ethereum-sepolia', 'https://ethereum-sepolia-rpc.publicnode.com', 'wss://ethereum-sepolia-rpc.publicnode.com', 'allnodes'),
--   ('drpc',       'ethereum-sepolia', 'https://sepolia.drpc.org', NULL, 'drpc'),
--   ('1rpc',       'ethereum-sepolia', 'https://1rpc.io/sepolia', NULL, 'automata'),
--   ('tenderly',   'ethereum-sepolia', 'https://sepolia.gateway.tenderly.co', NULL, 'tenderly');

-- Mainnet: polled and compared; tx_probe refuses it unless told allow_mainnet = 1.
-- INSERT OR IGNORE INTO rpc_providers (provider_id, chain, url, ws_url, operator) VALUES
--   ('publicnode-mainnet', 'ethereum-mainnet', 'https://ethereum-rpc.publicnode.com', 'wss://ethereum-rpc.publicnode.com', 'allnodes'),
--   ('drpc-mainnet',       'ethereum-mainnet', 'https://eth.drpc.org', NULL, 'drpc'),
--   ('1rpc-mainnet',       'ethereum-mainnet', 'https://1rpc.io/eth', NULL, 'automata');

-- With a key in the environment: export RPCROUTE_INFURA_KEY=… RPCROUTE_ALCHEMY_KEY=…
-- INSERT OR IGNORE INTO rpc_providers (provider_id, chain, url, operator) VALUES
--   ('infura',  'ethereum-sepolia', 'https://sepolia.infura.io/v3/${RPCROUTE_INFURA_KEY}', 'consensys'),
--   ('alchemy', 'ethereum-sepolia', 'https://eth-sepolia.g.alchemy.com/v2/${RPCROUTE_ALCHEMY_KEY}', 'alchemy');

-- What the router decides for.
-- INSERT OR IGNORE INTO route_targets (chain, policy) VALUES ('ethereum-sepolia', 'smart');
