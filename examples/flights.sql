-- All flights that left New York in 2013, as they happened: 1,031,526 events in a folder that keeps growing.
--
--     penstock demo                                                  watch it
--     penstock run flights.sql                                       run it on a folder of your own (see README.md)
--
-- What follows is ordinary SQL. Nothing in it says "streaming", except for one word, LATENESS.


-- The tables: what comes in -------------------------------------------------------------------------------------------

-- A table with a PRIMARY KEY holds one row per key. Its files say what happened to a flight: '+' it has been announced
-- (six hours ahead), '~' it has left or landed (an update of these columns), '-' it has been cancelled, so it is deleted.
--
-- LATENESS is a promise: news about a flight comes at most 16 hours after the latest scheduled time that has been seen.
-- Penstock may therefore forget what it knows about older flights, and its memory stays as large as a day, not as the year.
-- News that breaks the promise is not used, and is kept in error_view.
CREATE TABLE flights (
  carrier    STRING     NOT NULL,
  flight     INT        NOT NULL,
  origin     STRING     NOT NULL,
  scheduled  TIMESTAMP  NOT NULL LATENESS INTERVAL 16 HOURS,
  dest       STRING,
  tailnum    STRING,
  distance   INT,
  departed   TIMESTAMP,
  dep_delay  INT COMMENT 'minutes; less than zero is early',
  landed     TIMESTAMP,
  arr_delay  INT COMMENT 'minutes; unknown where a flight was diverted',
  PRIMARY KEY (carrier, flight, origin, scheduled)
) WITH ('connector' = 'files', 'path' = 'data/flights', 'format' = 'parquet');

-- A stream is a table to which rows are only ever added. Each airport reports its weather every hour.
CREATE STREAM weather (
  origin      STRING     NOT NULL,
  time        TIMESTAMP  NOT NULL LATENESS INTERVAL 1 HOUR,
  temp        DOUBLE COMMENT 'Fahrenheit',
  wind_speed  DOUBLE COMMENT 'miles per hour',
  precip      DOUBLE COMMENT 'inches in this hour',
  visib       DOUBLE COMMENT 'miles'
) WITH ('connector' = 'files', 'path' = 'data/weather', 'format' = 'json');

CREATE TABLE airlines (
  carrier  STRING PRIMARY KEY,
  name     STRING
) WITH ('connector' = 'files', 'path' = 'data/airlines', 'format' = 'json');

CREATE TABLE planes (
  tailnum       STRING PRIMARY KEY,
  manufacturer  STRING,
  model         STRING,
  seats         INT
) WITH ('connector' = 'files', 'path' = 'data/planes', 'format' = 'json');


-- Delay per carrier ---------------------------------------------------------------------------------------------------

-- A cancelled flight leaves this view as if it had never been announced. Grouping first and joining then means that
-- sixteen rows are kept for the join, and not all flights of the year; `penstock explain` tells what is kept.
CREATE VIEW delay_by_carrier AS
WITH carriers AS (
  SELECT carrier,
         COUNT(*)                                       AS flights,
         COUNT(departed)                                AS departed,
         AVG(dep_delay)                                 AS departure_delay,
         AVG(arr_delay)                                 AS arrival_delay,
         COUNT(*) FILTER (WHERE arr_delay <= 15)        AS on_time,
         COUNT(arr_delay)                               AS arrived
  FROM flights
  GROUP BY carrier
)
SELECT a.name                                           AS airline,
       c.flights,
       c.departed,
       ROUND(c.departure_delay, 1)                      AS departure_delay,
       ROUND(c.arrival_delay, 1)                        AS arrival_delay,
       ROUND(100.0 * c.on_time / NULLIF(c.arrived, 0), 1)  AS on_time
FROM carriers AS c
JOIN airlines AS a ON a.carrier = c.carrier;


-- The worst routes of each day: a Top-K -------------------------------------------------------------------------------

-- Each departure may push one route out of the five and another one in; only that is written.
-- New York's day begins at five o'clock UTC in winter.
CREATE VIEW worst_routes AS
WITH route_days AS (
  SELECT CAST(scheduled - INTERVAL 5 HOURS AS DATE)  AS day,
         origin,
         dest,
         COUNT(*)                                    AS departures,
         ROUND(AVG(dep_delay), 1)                    AS delay
  FROM flights
  WHERE departed IS NOT NULL
  GROUP BY CAST(scheduled - INTERVAL 5 HOURS AS DATE), origin, dest
  HAVING COUNT(*) >= 3
)
SELECT day, place, origin, dest, departures, delay
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY day ORDER BY delay DESC, origin, dest) AS place
  FROM route_days
)
WHERE place <= 5;


-- Planes in the air: a join that takes back what it said --------------------------------------------------------------

-- A row appears when a flight leaves, and vanishes when it lands. Not every plane is in the register.
CREATE VIEW in_the_air AS
SELECT f.carrier, f.flight, f.origin, f.dest, f.departed, f.tailnum, p.manufacturer, p.model, p.seats
FROM flights AS f
LEFT JOIN planes AS p ON p.tailnum = f.tailnum
WHERE f.departed IS NOT NULL AND f.landed IS NULL;

CREATE VIEW air_traffic AS
SELECT origin,
       COUNT(*)    AS planes,
       SUM(seats)  AS known_seats
FROM in_the_air
GROUP BY origin;


-- Delay against weather: a join of two streams in time ----------------------------------------------------------------

-- The observation of the hour for which the flight was scheduled. Both sides have LATENESS, so neither is kept for long.
CREATE VIEW delay_by_weather AS
WITH departures AS (
  SELECT CASE WHEN w.visib < 2         THEN 'fog or snow'
              WHEN w.precip > 0        THEN 'rain'
              WHEN w.wind_speed >= 20  THEN 'wind'
              ELSE 'fair'
         END AS sky,
         f.dep_delay
  FROM flights AS f
  JOIN weather AS w ON w.origin = f.origin AND w.time = DATE_TRUNC('HOUR', f.scheduled)
  WHERE f.departed IS NOT NULL
)
SELECT sky,
       COUNT(*)                                                             AS departures,
       ROUND(AVG(dep_delay), 1)                                             AS delay,
       ROUND(100.0 * COUNT(*) FILTER (WHERE dep_delay > 60) / COUNT(*), 1)  AS over_an_hour
FROM departures
GROUP BY sky;


-- News that came too late ---------------------------------------------------------------------------------------------

-- What a table does not take, it leaves in error_view, as JSON. A view may read that as well.
CREATE VIEW late_news AS
SELECT news.carrier, news.flight, news.origin, news.scheduled, news.departed, news.landed
FROM (
  SELECT FROM_JSON(
           metadata,
           'carrier STRING, flight INT, origin STRING, scheduled TIMESTAMP, departed TIMESTAMP, landed TIMESTAMP'
         ) AS news
  FROM error_view
  WHERE table_or_view_name = 'flights' AND message = 'Late value'
);
