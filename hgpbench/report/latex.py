"""A report as LaTeX."""

import re

from hgpbench.report.document import Document
from hgpbench.report.tables import Cell, Table
from hgpbench.words import printable

_WIDE = 40  # characters; the columns of shorter cells are narrow
_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "–": "--",
    "≤": r"$\leq$",
    "Λ": r"$\Lambda$",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
    "§": r"\S",
    "−": "$-$",
    "×": r"$\times$",
}
_TEX |= {char: rf"\{char}" for char in "&%$#_{}"} | {"<": "$<$", ">": "$>$"}
_TEX_SPECIAL = re.compile("|".join(re.escape(char) for char in _TEX))


def latex(document: Document) -> str:
    """The report as a LaTeX fragment; needs a few packages."""
    blocks = [r"% Needs \usepackage{array,booktabs,longtable}."]
    for section in document.sections:
        blocks.append(rf"\section*{{{tex(section.title)}}}")
        blocks += [_table(table) for table in section.tables]
        remarks = [sentence for each in section.addition.remarks for sentence in each.sentences]
        lines = [*section.cautions, *section.findings, *remarks, *section.notes]
        blocks.append("\n".join(tex(line) for line in lines))
    for closing in document.closings:
        if closing.tables:
            blocks.append(rf"\section*{{{tex(closing.heading)}}}")
        blocks += [_table(table) for table in closing.tables]
        if closing.words:
            blocks.append("\n".join(tex(line) for line in closing.words))
    return "\n\n".join(blocks) + "\n"


def tex(text: str) -> str:
    """Text with LaTeX's special characters made harmless."""
    return _TEX_SPECIAL.sub(lambda match: _TEX[match[0]], printable(text))


def _table(table: Table) -> str:
    if table.is_prose:
        return _prose(table)
    columns = "".join("r" if number else "l" for number in table.is_number)
    rows = [" & ".join(_cell(cell) for cell in row) + r" \\" for row in table.rows]
    head = " & ".join(tex(heading) for heading in table.headings) + r" \\"
    body = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        head,
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join([rf"\paragraph{{{tex(table.caption)}}}", *body])


def _prose(table: Table) -> str:
    """Sentences in columns that wrap, over as many pages as they take."""
    longest = [max(len(row[i].text) for row in table.rows) for i in range(len(table.headings))]
    wide = sum(length > _WIDE for length in longest)
    narrow = len(longest) - wide
    widths = [(0.94 - 0.13 * narrow) / wide if length > _WIDE else 0.13 for length in longest]
    columns = "".join(rf">{{\raggedright\arraybackslash}}p{{{width:.2f}\linewidth}}" for width in widths)
    head = " & ".join(tex(heading) for heading in table.headings) + r" \\"
    rows = [" & ".join(tex(cell.text) for cell in row) + r" \\" for row in table.rows]
    start = rf"\begin{{longtable}}{{@{{}}{columns}@{{}}}}"
    body = [start, r"\toprule", head, r"\midrule", r"\endhead", *rows, r"\bottomrule", r"\end{longtable}"]
    return "\n".join([rf"\paragraph{{{tex(table.caption)}}}", r"{\scriptsize", *body, "}"])


def _cell(cell: Cell) -> str:
    """Numbers in mathematics, so that a minus is one; the best in bold."""
    if not cell.is_number or not re.fullmatch(r"[-+0-9.e±()< ]+", cell.text):
        return tex(cell.text)
    number = re.sub(r"e([-+]\d+)", lambda e: rf" \times 10^{{{int(e[1])}}}", cell.text).replace("±", r"\pm")
    return rf"$\mathbf{{{number}}}$" if cell.is_best else f"${number}$"
