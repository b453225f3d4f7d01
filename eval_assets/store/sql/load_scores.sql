insert into scores by name
select
    $evaluation_id as evaluation_id,
    $scoring_id as scoring_id,
    case_hash,
    run_index,
    metric,
    passed,
    reason,
    detail
from read_json(
    $scores,
    format = 'newline_delimited',
    maximum_object_size = $longest_line,
    columns = {
        case_hash: 'varchar',
        run_index: 'integer',
        metric: 'varchar',
        passed: 'boolean',
        reason: 'varchar',
        detail: 'json'
    }
)
