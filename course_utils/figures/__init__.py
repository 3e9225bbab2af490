"""How a number is shown: style, comparisons, tables, timelines, bars of bytes."""
