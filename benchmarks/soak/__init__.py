"""The filter node at a robot's pace while everything around it fails."""
