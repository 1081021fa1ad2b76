	.text
	.p2align 4
	.globl	__tvm_ffi_main
	.type	__tvm_ffi_main, @function
__tvm_ffi_main:
.LFB0:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsi, %r10
	xorl	%r8d, %r8d
	xorl	%r11d, %r11d
	leaq	16384(%rsi), %r9
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%rbx
	.cfi_offset 3, -24
	movq	%rdi, %rbx
	xorl	%edi, %edi
.L2:
	movq	%rbx, %rcx
	vmovups	(%rdx), %ymm9
	vmovups	32(%rdx), %ymm8
	movq	%r10, %rax
	vmovups	64(%rdx), %ymm7
	vmovups	96(%rdx), %ymm6
	subq	%rdi, %rcx
	vmovups	128(%rdx), %ymm5
	vmovups	160(%rdx), %ymm4
	vmovups	192(%rdx), %ymm2
	vmovups	224(%rdx), %ymm3
.L3:
	leaq	(%rcx,%rdi), %rsi
	vbroadcastss	(%rcx), %ymm0
	vfmadd231ps	(%rax), %ymm0, %ymm9
	addq	$512, %rax
	vbroadcastss	4(%r8,%rsi), %ymm1
	addq	$8, %rcx
	vfmadd231ps	-480(%rax), %ymm0, %ymm8
	vfmadd231ps	-448(%rax), %ymm0, %ymm7
	vfmadd231ps	-416(%rax), %ymm0, %ymm6
	vfmadd231ps	-384(%rax), %ymm0, %ymm5
	vfmadd231ps	-352(%rax), %ymm0, %ymm4
	vfmadd231ps	-320(%rax), %ymm0, %ymm2
	vfmadd231ps	-128(%rax), %ymm1, %ymm5
	vfmadd132ps	-288(%rax), %ymm3, %ymm0
	vfmadd231ps	-96(%rax), %ymm1, %ymm4
	vmovaps	%ymm1, %ymm3
	vfmadd231ps	-256(%rax), %ymm1, %ymm9
	vfmadd231ps	-64(%rax), %ymm1, %ymm2
	vfmadd231ps	-224(%rax), %ymm1, %ymm8
	vfmadd132ps	-32(%rax), %ymm0, %ymm3
	vfmadd231ps	-192(%rax), %ymm1, %ymm7
	vfmadd231ps	-160(%rax), %ymm1, %ymm6
	vmovups	%ymm5, 128(%rdx)
	vmovups	%ymm4, 160(%rdx)
	vmovups	%ymm9, (%rdx)
	vmovups	%ymm8, 32(%rdx)
	vmovups	%ymm7, 64(%rdx)
	vmovups	%ymm6, 96(%rdx)
	vmovups	%ymm2, 192(%rdx)
	vmovups	%ymm3, 224(%rdx)
	cmpq	%r9, %rax
	jne	.L3
	addq	$64, %r11
	subq	$256, %rdi
	addq	$256, %r8
	addq	$256, %rdx
	cmpq	$4096, %r11
	jne	.L2
	vzeroupper
	movq	-8(%rbp), %rbx
	leave
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
.LFE0:
	.size	__tvm_ffi_main, .-__tvm_ffi_main
