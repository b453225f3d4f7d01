select 1 as found
from cases
where case_set_hash = $case_set_hash and content_hash = $content_hash
limit 1
