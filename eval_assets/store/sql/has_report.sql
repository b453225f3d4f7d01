select 1 as found
from reports
where report_id = $report_id
limit 1
