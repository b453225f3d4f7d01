select
    evaluation_id,
    suite,
    target,
    case_set_hash,
    target_fingerprint,
    target_spec,
    runs_per_case,
    total_runs,
    nonce,
    model_id,
    temperature,
    seed,
    replayed_from,
    price,
    started_at,
    finished_at
from evaluations
where
    suite = $suite
    and target = $target
    and ($fingerprint::varchar is null or target_fingerprint = $fingerprint)
    and ($case_set_hash::varchar is null or case_set_hash = $case_set_hash)
    and (not $live_only or replayed_from is null)
order by coalesce(finished_at, started_at) desc, started_at desc, stored_at desc, evaluation_id desc
limit 1
