select
    promotion_id,
    verdict_id,
    suite,
    candidate,
    baseline_report_id,
    candidate_report_id,
    reason,
    promoted_by,
    promoted_at
from promotions
where suite = $suite
order by promoted_at desc, promotion_id desc
limit 1
