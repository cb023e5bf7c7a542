"""Training data for trainers: releases of Contrastive written in the formats that they read."""
