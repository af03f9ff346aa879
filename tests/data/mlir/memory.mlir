// Memrefs, vectors and packs, written by hand from MLIR's documents.
#columns = affine_map<(d0, d1) -> (d1, d0)>
#space = #gpu.address_space<workgroup>
#sparse = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
module @memory {
  func.func @main(%a: memref<64x32xf32>, %b: memref<64x32xf32, #columns>,
                  %c: memref<?x?xf16, strided<[?, 1], offset: ?>>, %t: tensor<30x17xf32>) {
    %c0 = arith.constant 0 : index
    %pad = arith.constant 0.0 : f32
    %h = arith.constant 0.0 : f16
    %0 = vector.transfer_read %a[%c0, %c0], %pad : memref<64x32xf32>, vector<4x32xf32>
    %1 = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]}
        : memref<64x32xf32, #columns>, vector<4x8xf32>
    %2 = vector.transfer_read %b[%c0, %c0], %pad
      {permutation_map = affine_map<(d0, d1) -> (d0)>} : memref<64x32xf32, #columns>, vector<8xf32>
    %3 = vector.transfer_read %c[%c0, %c0], %h : memref<?x?xf16, strided<[?, 1], offset: ?>>, vector<2x16xf16>
    %s = memref.alloc() : memref<16x64xf32, strided<[68, 1]>, #space>
    %e = tensor.empty() : tensor<5x3x8x8xf32>
    %p = linalg.pack %t padding_value(%pad : f32) inner_dims_pos = [0, 1] inner_tiles = [8, 8]
      into %e : tensor<30x17xf32> -> tensor<4x3x8x8xf32>
    %u = "test.unknown"(%p) : (tensor<4x3x8x8xf32>) -> tensor<30x17xf32, #sparse>
    return
  }
}
