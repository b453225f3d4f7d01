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
where evaluation_id = $evaluation_id
limit 1
