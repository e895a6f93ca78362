"""What people install and read: the wheel, the Makefile, the pins, the pages."""
