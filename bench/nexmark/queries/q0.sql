-- Pass through: what reading and writing cost alone.
SELECT auction, bidder, price, date_time, extra FROM bid
