"""Every golden LaTeX page compiles to a PDF that says what the page says.

    latex_test.py PAGES SCRATCH
"""
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77
# What a reader must find on the page; pdftotext may space formulas as it likes.
WORDS = {"i-love-ai": ["I love AI", "Scores", "0.4011"], "hard": ["hidden"]}


def compile_page(tex: pathlib.Path, scratch: pathlib.Path) -> str:
    """Complaint about the page, or nothing."""
    ran = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"-output-directory={scratch}", tex],
        capture_output=True, text=True, errors="replace", cwd=scratch)
    pdf = scratch / (tex.stem + ".pdf")
    if ran.returncode != 0:
        return "pdflatex: " + "\n".join(ran.stdout.splitlines()[-15:])
    if not pdf.read_bytes().startswith(b"%PDF-"):
        return "not a PDF"
    if "Overfull \\hbox" in ran.stdout:
        return "wider than the page: " + ran.stdout[ran.stdout.index("Overfull"):][:80]
    if shutil.which("pdftotext"):
        text = subprocess.run(["pdftotext", "-layout", pdf, "-"], capture_output=True, text=True,
                              check=True).stdout
        missing = [word for word in WORDS.get(tex.stem, []) if word not in text]
        if missing:
            return f"the PDF does not say {missing}"
    return ""


def main() -> int:
    if not shutil.which("pdflatex"):
        print("skipped: no pdflatex (tools/install_packages.sh tex)")
        return SKIPPED
    pages = sorted(pathlib.Path(sys.argv[1]).resolve().glob("*.tex"))
    scratch = pathlib.Path(sys.argv[2], "latex").resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    complaints = {page.name: compile_page(page, scratch) for page in pages}
    for name, complaint in complaints.items():
        print(f"{name}: {complaint or 'a PDF'}")
    return 1 if not pages or any(complaints.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
