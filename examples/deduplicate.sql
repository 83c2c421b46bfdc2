-- Devices that report twice, and not in order: every reading once, and the last one of each device.
--
--     cd examples
--     penstock run deduplicate.sql --once --final

CREATE STREAM reports (
  device   STRING NOT NULL,
  sent_at  TIMESTAMP NOT NULL,
  celsius  DOUBLE
) WITH ('connector' = 'files', 'path' = 'data/readings', 'format' = 'json');

CREATE VIEW readings AS
SELECT DISTINCT device, sent_at, celsius
FROM reports;

-- A newer report of a device takes its older one away.
CREATE VIEW last_reading AS
SELECT device, sent_at, celsius
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY device ORDER BY sent_at DESC) AS nth
  FROM readings
)
WHERE nth = 1;

CREATE VIEW too_warm AS
SELECT device, celsius
FROM last_reading
WHERE celsius > 30;
