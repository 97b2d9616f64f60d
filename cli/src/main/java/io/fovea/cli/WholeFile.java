package io.fovea.cli;

/** Marks the commands that open the file by themselves: a shell closes it for them. */
interface WholeFile {}
