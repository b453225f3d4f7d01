insert into promotions by name
select
    $promotion_id as promotion_id,
    $verdict_id as verdict_id,
    $suite as suite,
    $candidate as candidate,
    $baseline_report_id as baseline_report_id,
    $candidate_report_id as candidate_report_id,
    $reason as reason,
    $promoted_by as promoted_by,
    $promoted_at::timestamptz as promoted_at
where not exists (from promotions where promotion_id = $promotion_id)
