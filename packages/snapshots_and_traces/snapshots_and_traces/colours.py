"""Colours that the pages and the course's figures share: Okabe and Ito's, for the colour-blind."""

# Of kinds of bytes, where a snapshot says of what kind its allocations are.
KINDS_OF_BYTES = {
    "parameter": "#56B4E9",
    "half copy": "#E69F00",
    "gradient": "#CC79A7",
    "optimizer state": "#009E73",
    "activation": "#F0E442",
    "input": "#999999",
    "temporary": "#D9D9D9",
    "workspace": "#7B5EA7",
    "rounding": "#8C6D31",
}
OTHER_KINDS = ("#56B4E9", "#E69F00", "#CC79A7", "#009E73", "#7B5EA7", "#8C6D31")
