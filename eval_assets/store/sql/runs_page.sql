-- The narrow columns find the page, so that the wide ones are read for its rows alone.
with positions as (
    select case_hash, position
    from latest_cases
    where case_set_hash = $case_set_hash
),

page as (
    select
        run_outputs.rowid as row_id,
        positions.position,
        run_outputs.case_hash,
        run_outputs.run_index
    from run_outputs
    left join positions on positions.case_hash = run_outputs.case_hash
    where run_outputs.evaluation_id = $evaluation_id
    order by positions.position nulls last, run_outputs.case_hash, run_outputs.run_index
    limit $batch offset $after
)

select
    run_outputs.case_name,
    run_outputs.case_hash,
    run_outputs.run_index,
    run_outputs.run_id,
    run_outputs.final,
    run_outputs.messages,
    run_outputs.error,
    run_outputs.unavailable,
    run_outputs.trace_error,
    run_outputs.latency_s,
    run_outputs.input_tokens,
    run_outputs.output_tokens,
    run_outputs.finish_reason,
    run_outputs.response_id,
    run_outputs.served_by,
    run_outputs.attempts,
    run_outputs.scores,
    run_outputs.stated_trajectory,
    run_outputs.started_at
from run_outputs
inner join page on page.row_id = run_outputs.rowid
order by page.position nulls last, page.case_hash, page.run_index
