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
	vmovups	(%rdx), %ymm8
	vmovups	32(%rdx), %ymm7
	movq	%r10, %rax
	vmovups	64(%rdx), %ymm6
	vmovups	96(%rdx), %ymm5
	subq	%rdi, %rcx
	vmovups	128(%rdx), %ymm4
	vmovups	160(%rdx), %ymm3
	vmovups	192(%rdx), %ymm2
	vmovups	224(%rdx), %ymm10
.L3:
	vbroadcastss	(%rcx), %ymm0
	vmulps	(%rax), %ymm0, %ymm9
	leaq	(%rcx,%rdi), %rsi
	addq	$512, %rax
	vbroadcastss	4(%r8,%rsi), %ymm1
	addq	$8, %rcx
	vaddps	%ymm8, %ymm9, %ymm9
	vmulps	-256(%rax), %ymm1, %ymm8
	vaddps	%ymm8, %ymm9, %ymm8
	vmulps	-480(%rax), %ymm0, %ymm9
	vmovups	%ymm8, (%rdx)
	vaddps	%ymm7, %ymm9, %ymm9
	vmulps	-224(%rax), %ymm1, %ymm7
	vaddps	%ymm7, %ymm9, %ymm7
	vmulps	-448(%rax), %ymm0, %ymm9
	vmovups	%ymm7, 32(%rdx)
	vaddps	%ymm6, %ymm9, %ymm9
	vmulps	-192(%rax), %ymm1, %ymm6
	vaddps	%ymm6, %ymm9, %ymm6
	vmulps	-416(%rax), %ymm0, %ymm9
	vmovups	%ymm6, 64(%rdx)
	vaddps	%ymm5, %ymm9, %ymm9
	vmulps	-160(%rax), %ymm1, %ymm5
	vaddps	%ymm5, %ymm9, %ymm5
	vmulps	-384(%rax), %ymm0, %ymm9
	vmovups	%ymm5, 96(%rdx)
	vaddps	%ymm4, %ymm9, %ymm9
	vmulps	-128(%rax), %ymm1, %ymm4
	vaddps	%ymm4, %ymm9, %ymm4
	vmulps	-352(%rax), %ymm0, %ymm9
	vmovups	%ymm4, 128(%rdx)
	vaddps	%ymm3, %ymm9, %ymm9
	vmulps	-96(%rax), %ymm1, %ymm3
	vaddps	%ymm3, %ymm9, %ymm3
	vmulps	-320(%rax), %ymm0, %ymm9
	vmulps	-288(%rax), %ymm0, %ymm0
	vmovups	%ymm3, 160(%rdx)
	vaddps	%ymm2, %ymm9, %ymm9
	vmulps	-64(%rax), %ymm1, %ymm2
	vmulps	-32(%rax), %ymm1, %ymm1
	vaddps	%ymm10, %ymm0, %ymm0
	vaddps	%ymm2, %ymm9, %ymm2
	vaddps	%ymm1, %ymm0, %ymm10
	vmovups	%ymm2, 192(%rdx)
	vmovups	%ymm10, 224(%rdx)
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
