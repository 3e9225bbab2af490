"""Figures: style, comparisons of evidence, tables, timelines, stacked bytes, controls."""
