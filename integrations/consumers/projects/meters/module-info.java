module bank {
  requires transitive io.fovea.micrometer;

  exports bank;
}
