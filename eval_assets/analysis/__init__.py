"""
Model × stats → model: the sentences of the product.

    summarize.py  scores, counted per case → report
    compare.py    old report × new report → comparison
    gate.py       comparison → verdict
    document.py   paragraphs and tables, before anyone decides how they look
    render.py     report, comparison, verdict → document
    markdown.py   document → Markdown
    picture.py    comparison → what its picture shows
    plots.py      picture → SVG or PNG
"""
