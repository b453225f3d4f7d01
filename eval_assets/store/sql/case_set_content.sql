select content_hash
from case_sets
where
    case_set_hash = $case_set_hash
    and ($suite::varchar is null or suite = $suite)
order by registered_at desc, content_hash
limit 1
