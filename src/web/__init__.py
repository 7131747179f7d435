"""Pages over the same engines that everything else plays by; they hold no rule of any game."""
