select
    case_name,
    input,
    messages,
    want,
    tags,
    tools,
    expect
from latest_cases
where case_set_hash = $case_set_hash
order by position
