"""What a number is: files, machine and GPUs, measuring, evidence, series, claims."""
