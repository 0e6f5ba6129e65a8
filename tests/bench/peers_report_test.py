"""The table of the comparison with peers: ratios, what is absent, what replaces what."""
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers"))
import report  # noqa: E402


def row(shape, threads, heed_ms, **peers):
    competitors = {"heed": {"ms_best": heed_ms, "right": True, "version": "1", "variant": "plan"}}
    for title in report.PEERS:
        ms = peers.get(title.replace(" ", "_"))
        competitors[title] = ({"absent": "cannot be installed"} if ms is None else
                              {"ms_best": ms, "right": ms != 7, "version": "2", "variant": "way"})
    return {"shape": shape, "threads": threads, "competitors": competitors}


class Report(unittest.TestCase):
    def test_ratios_and_absent_peers(self):
        rows = [row("P1", 1, 2.0, PyTorch=3.0, Eigen=8.0), row("P1", 2, 2.0, PyTorch=1.0)]
        text = report.markdown(rows)
        self.assertIn("| P1 | 1 | 2.000 | – | 3.000 · 1.50× | – | 8.000 · 4.00× |", text)
        self.assertIn("ONNX Runtime is absent from P1: cannot be installed.", text)
        self.assertEqual(report.summary(rows),
                         "heed is ahead in 2 of 3 comparisons; the closest is PyTorch on P1 with "
                         "2 threads: 0.50 times heed's time.")

    def test_a_wrong_answer_is_marked(self):
        self.assertIn("WRONG", report.markdown([row("P1", 1, 2.0, PyTorch=7)]))

    def test_rows_replace_older_ones_and_keep_their_order(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "results.json"
            report.merge(path, [row("S1", 1, 1.0), row("D1-bf16", 1, 1.0), row("P2", 1, 1.0)])
            merged = report.merge(path, [row("D1-f16", 1, 1.0), row("P2", 1, 9.0)])
            self.assertEqual([r["shape"] for r in merged], ["P2", "D1-f16", "D1-bf16", "S1"])
            self.assertEqual(merged[0]["competitors"]["heed"]["ms_best"], 9.0)
            self.assertEqual(json.loads(path.read_text()), merged)

    def test_only_the_table_of_the_page_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
            report.write_docs(page, [row("P1", 1, 2.0)])
            text = page.read_text()
            self.assertTrue(text.startswith("before\n") and text.endswith(f"{report.END}\nafter\n"))
            self.assertNotIn("old", text)
            page.write_text("no place\n")
            with self.assertRaises(SystemExit):
                report.write_docs(page, [row("P1", 1, 2.0)])
            self.assertEqual(page.read_text(), "no place\n")


if __name__ == "__main__":
    unittest.main()
