select comparison
from comparisons
where comparison_id = $comparison_id
limit 1
