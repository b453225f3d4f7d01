insert into comparisons by name
select
    $comparison_id as comparison_id,
    $suite as suite,
    $candidate as candidate,
    $baseline_report_id as baseline_report_id,
    $candidate_report_id as candidate_report_id,
    $outcome as outcome,
    $policy::json as policy,
    $comparison::json as comparison,
    $compared_at::timestamptz as compared_at
