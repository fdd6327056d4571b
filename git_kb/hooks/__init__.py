"""Git hooks: installed without harm, and what each does."""
