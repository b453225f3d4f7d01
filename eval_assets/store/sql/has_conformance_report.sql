select certification_id
from conformance_reports
where certification_id = $certification_id
limit 1
