CREATE TABLE round (provider, operator, height);
INSERT INTO round VALUES ('a', 'x', 1003), ('b', 'y', 1002), ('c', 'z', 90000000), ('d', 'z', 90000000), ('e', 'x', NULL);
SELECT 'the highest height', chain_head(height) = 90000000 FROM round;
SELECT 'the highest that another confirms', chain_head(height, 64) = 1003 FROM round WHERE provider <> 'd';
SELECT 'two of one operator do not confirm each other', chain_head(height, 64, operator) = 1003 FROM round;
SELECT 'nothing corroborates, nothing is the head', chain_head(height, 64) IS NULL FROM round WHERE provider = 'a';
SELECT 'quantities count like integers', chain_head(column1, 64) = 1003 FROM (VALUES ('0x3eb'), (1002));
SELECT 'NULLs are skipped', chain_head(height) IS NULL FROM round WHERE provider = 'e';
SELECT 'over a window', group_concat(h) = '1003,1003' FROM (SELECT chain_head(height, 64) OVER () AS h FROM round WHERE height < 2000);
