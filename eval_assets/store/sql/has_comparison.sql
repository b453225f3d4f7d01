select 1 as found
from comparisons
where comparison_id = $comparison_id
limit 1
