"""Speed and memory, always beside a peer in the same run: these figures are ratios, since machines are noisy."""
