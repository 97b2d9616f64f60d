package io.fovea.cli;

/** Marks commands that open the file themselves: a shell closes it while they run. */
interface WholeFile {}
