"""Under `course_utils.ranks`: the helper that forks ranks, what a rank runs, who watches them."""
