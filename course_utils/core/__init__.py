"""What a number is: files, machine and GPUs, measuring, evidence, claims."""
