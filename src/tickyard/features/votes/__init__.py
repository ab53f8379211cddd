"""Votes of shareholders, once there are any, and how many shares a wallet stands for."""
