-- Average selling price by seller: of the winning bid with those of the seller's ten auctions before.
-- The standard query leaves open which of two auctions won in the same moment comes first; here it is the older one.
SELECT seller, avg(price) OVER (
  PARTITION BY seller ORDER BY date_time, id ROWS BETWEEN 10 PRECEDING AND CURRENT ROW
) AS average
FROM (
  SELECT a.id, a.seller, b.price, b.date_time,
    row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time) AS place
  FROM auction AS a JOIN bid AS b ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires
)
WHERE place = 1
