module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @empty_mesh = <[]> {stablehlo.mesh = {axes = []}}
  func.func public @main(%arg0: tensor<512x256xbf16> {mhlo.layout_mode = "{0,1}", sdy.sharding = #sdy.sharding<@empty_mesh, [{}, {}]>}, %arg1: tensor<256x128xbf16> {mhlo.layout_mode = "auto", sdy.sharding = #sdy.sharding<@empty_mesh, [{}, {}]>}) -> (tensor<16x32x128xbf16> {jax.result_info = "result", mhlo.layout_mode = "auto", sdy.sharding = #sdy.sharding<@empty_mesh, [{}, {}, {}]>}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<512x256xbf16>, tensor<256x128xbf16>) -> tensor<512x128xbf16>
    %1 = stablehlo.reshape %0 : (tensor<512x128xbf16>) -> tensor<16x32x128xbf16>
    return %1 : tensor<16x32x128xbf16>
  }
}
