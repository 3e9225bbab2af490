"""Under `course_utils.ranks`: who starts ranks, what a rank runs, who watches them."""
