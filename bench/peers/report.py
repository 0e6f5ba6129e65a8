"""What the comparison with peers shows: a table in the terminal, JSON, and the one in the docs."""
import json
import os
import pathlib

BEGIN = "<!-- bench-peers: begin (written by `make bench-peers`) -->"
END = "<!-- bench-peers: end -->"
PEERS = ["ONNX Runtime", "PyTorch", "OpenBLAS", "Eigen"]


def milliseconds(ms):
    return f"{ms:.3f}" if ms < 10 else f"{ms:.2f}" if ms < 100 else f"{ms:.0f}"


def ratio(row, title):
    """How many times as long as heed a peer takes; None where it takes no part."""
    entry = row["competitors"].get(title, {})
    if "ms_best" not in entry:
        return None
    return entry["ms_best"] / row["competitors"]["heed"]["ms_best"]


def cell(row, title):
    entry = row["competitors"].get(title, {})
    if "ms_best" not in entry:
        return "–"
    text = f"{milliseconds(entry['ms_best'])} · {ratio(row, title):.2f}×"
    return text if entry["right"] else text + " WRONG"


def heed_cell(row):
    entry = row["competitors"]["heed"]
    return milliseconds(entry["ms_best"]) + ("" if entry["right"] else " WRONG")


def text_lines(rows, header=False):
    lines = []
    if header:
        lines.append(f"{'shape':<8}{'thr':>4}{'heed ms':>9}" + "".join(f" {t:>16}" for t in PEERS))
    for row in rows:
        lines.append(f"{row['shape']:<8}{row['threads']:>4}{heed_cell(row):>9}" +
                     "".join(f" {cell(row, t):>16}" for t in PEERS))
    return "\n".join(lines)


def merge(path, rows):
    """All rows known, those of this run in place of older ones; kept in `path`."""
    known = {}
    if path.exists():
        known = {(row["shape"], row["threads"]): row for row in json.loads(path.read_text())}
    known.update({(row["shape"], row["threads"]): row for row in rows})
    order = ["P", "D", "S", "L"]
    kinds = ["f32", "f16", "bf16"]

    def key(row):
        name, _, dtype = row["shape"].partition("-")
        return order.index(name[0]), name, kinds.index(dtype or "f32"), row["threads"]

    merged = sorted(known.values(), key=key)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(merged, indent=1) + "\n")
    os.replace(temporary, path)
    return merged


def absences(rows):
    """Why a peer is missing, once for each reason, with the shapes it holds for."""
    reasons = {}
    for row in rows:
        for title in PEERS:
            reason = row["competitors"].get(title, {}).get("absent")
            if reason:
                shapes = reasons.setdefault((title, reason), [])
                if row["shape"] not in shapes:
                    shapes.append(row["shape"])
    return [f"{title} is absent from {', '.join(shapes)}: {reason}."
            for (title, reason), shapes in reasons.items()]


def summary(rows):
    ratios = [(ratio(row, title), row, title) for row in rows for title in PEERS
              if ratio(row, title) is not None]
    if not ratios:
        return "no peer took part"
    closest, row, title = min(ratios, key=lambda r: r[0])
    ahead = sum(r[0] > 1 for r in ratios)
    return (f"heed is ahead in {ahead} of {len(ratios)} comparisons; the closest is {title} on "
            f"{row['shape']} with {row['threads']} thread{'s' if row['threads'] > 1 else ''}: "
            f"{closest:.2f} times heed's time.")


def processor():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return "unknown processor"


def versions(rows):
    found = {}
    for row in rows:
        for title, entry in row["competitors"].items():
            if "version" in entry:
                # OpenBLAS tells its whole configuration, beginning with its own name.
                found[title] = entry["version"].removeprefix(title).split()[0]
    return ", ".join(f"{title} {found[title]}" for title in ["heed", *PEERS] if title in found)


def ways(rows):
    """Which of its operators each peer was fastest with."""
    lines = []
    for title in PEERS:
        by_way = {}
        for row in rows:
            variant = row["competitors"].get(title, {}).get("variant")
            if variant and row["shape"] not in by_way.setdefault(variant, []):
                by_way[variant].append(row["shape"])
        if len(by_way) > 1:
            lines.append(f"{title} by the fastest of its ways: " + "; ".join(
                f"{variant} on {', '.join(shapes)}" for variant, shapes in by_way.items()) + ".")
    return lines


def markdown(rows):
    lines = ["| shape | threads | heed ms | " + " | ".join(PEERS) + " |",
             "|---|--:|--:|" + "--:|" * len(PEERS)]
    for row in rows:
        lines.append(f"| {row['shape']} | {row['threads']} | {heed_cell(row)} | " +
                     " | ".join(cell(row, title) for title in PEERS) + " |")
    lines += ["", "Milliseconds of the best run, and how many times as long as heed it takes. "
              f"In all, {summary(rows)}", "",
              f"{processor()}, {os.cpu_count()} cores; {versions(rows)}. OpenBLAS and Eigen compute "
              "the three steps one after the other.", "",
              *(f"- {line}" for line in ways(rows) + absences(rows))]
    return "\n".join(lines)


def write_docs(path, rows):
    text = path.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise SystemExit(f"{path} has no place for the table: {BEGIN} ... {END}")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    path.write_text(f"{before}{BEGIN}\n{markdown(rows)}\n{END}{after}", encoding="utf-8")
