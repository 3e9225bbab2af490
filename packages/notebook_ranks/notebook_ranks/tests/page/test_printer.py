"""Output is printed rank by rank."""

from notebook_ranks.page.printer import Printer


def test_output_is_printed_in_order_whoever_speaks_first(capsys):
    printer = Printer([0, 1, 2])
    printer.add(1, "stdout", "b\n")
    printer.add(0, "stdout", "a")
    assert capsys.readouterr().out == ""
    printer.add(0, "stdout", "a\nrest")
    assert capsys.readouterr().out == "[rank 0] aa\n"
    printer.finish(1)
    printer.add(2, "stderr", "10%\r100%\n")
    printer.finish(0)
    heard = capsys.readouterr()
    assert heard.out == "[rank 0] rest\n[rank 1] b\n"
    assert heard.err == "[rank 2] 100%\n"
    printer.finish_all()
    assert capsys.readouterr().out == ""
