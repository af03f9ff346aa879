"""What is said of whole programs: HLO, reads, reports, advice."""
