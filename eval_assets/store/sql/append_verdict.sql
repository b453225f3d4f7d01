insert into verdicts by name
select
    $verdict_id as verdict_id,
    $comparison_id as comparison_id,
    $suite as suite,
    $candidate as candidate,
    $baseline_report_id as baseline_report_id,
    $candidate_report_id as candidate_report_id,
    $outcome as outcome,
    $reasons::varchar[] as reasons,
    $decided_by as decided_by,
    $decided_at::timestamptz as decided_at
where not exists (from verdicts where verdict_id = $verdict_id)
