module bank {
  requires transitive io.fovea.engine;

  exports bank;
}
