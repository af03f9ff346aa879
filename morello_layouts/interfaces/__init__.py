"""What a person calls: functions, the command, explanations, the explorer, exercises."""
