"""The model: its sizes (`config`), its files (`weights`), and, where torch is installed, itself (`transformer`)."""
